// What TX's consumer does with a message file: chokidar waits until it is stable for 100 ms,
// then it is inserted into SQLite. Prints the median time from the close of a file to its row,
// and the time until a burst of files is stored.
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const chokidar = require('chokidar')
const Database = require('better-sqlite3')

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tx-peer-'))
const bus = path.join(folder, 'msgs')
fs.mkdirSync(bus)
const db = new Database(path.join(folder, 'queue.db'))
db.pragma('journal_mode = WAL')
db.pragma('synchronous = FULL')
db.exec('CREATE TABLE messages (id INTEGER PRIMARY KEY, path TEXT, body TEXT)')
const insert = db.prepare('INSERT INTO messages (path, body) VALUES (?, ?)')

const text = '---\nto: dev\nfrom: core\nmsg-id: x\n---\n\n' + 'x'.repeat(2000) + '\n'
const waiting = new Map()
const watcher = chokidar.watch(bus, {
  awaitWriteFinish: { stabilityThreshold: 100, pollInterval: 50 }, ignoreInitial: true,
})
watcher.on('add', file => {
  insert.run(file, fs.readFileSync(file, 'utf8'))
  waiting.get(file)?.(performance.now())
  waiting.delete(file)
})

const drop = name => new Promise(resolve => {
  const file = path.join(bus, name)
  waiting.set(file, resolve)
  fs.writeFileSync(file, text)
})

watcher.on('ready', async () => {
  const times = []
  for (let i = 0; i < 30; i++) {
    const began = performance.now()
    times.push(await drop(`m${i}.md`) - began)
  }
  times.sort((a, b) => a - b)
  const burst = Number(process.argv[2] ?? 1000)
  const began = performance.now()
  await Promise.all(Array.from({ length: burst }, (_, i) => drop(`b${i}.md`)))
  const all = performance.now() - began
  console.log(JSON.stringify({ p50_ms: times[15], burst, burst_ms: all }))
  await watcher.close()
  db.close()
  fs.rmSync(folder, { recursive: true })
})

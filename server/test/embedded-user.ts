import { createInterface } from 'node:readline'
import { startEmbedded } from '../database/embedded/embedded.ts'

/**
 * A process that uses the embedded database, for tests that kill, interrupt or race such processes.
 * `node embedded-user.ts <dataDir> [<settings as JSON>]` prints the result of its start as a line of JSON, and ends
 * after a line `stop` on standard input. It only reports a SIGINT, like a server that drains first.
 */
const [dataDir = '', settings = '{}'] = process.argv.slice(2)
const print = (line: unknown) => process.stdout.write(`${JSON.stringify(line)}\n`)

process.on('SIGINT', () => print('interrupted'))

try {
  const database = await startEmbedded({ dataDir, settings: JSON.parse(settings) })
  print(database)
  for await (const line of createInterface({ input: process.stdin })) {
    if (line === 'stop') break
  }
  await database.stop()
  print('stopped')
} catch (error) {
  const { name, message } = error as Error
  print({ name, message })
  process.exitCode = 1
}
process.stdin.destroy()

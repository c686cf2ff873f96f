import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createClient } from '@redis/client'
import { until } from './until.ts'

/** The Redis or Valkey server on PATH; without one, tests that need it are skipped: `describe.skipIf(!redisServer)`. */
export const redisServer = findOnPath('redis-server') ?? findOnPath('valkey-server')

if (!redisServer) {
  console.warn(
    'SKIPPED: the tests against a real Redis. There is no redis-server or valkey-server on PATH;' +
      " Debian's package is called redis-server (apt-get install redis-server).",
  )
}

export type TestRedis = {
  url: string
  /** Sends one command over a connection of its own. */
  command(...args: string[]): Promise<unknown>
  /** Ends the server as a crash would; what it held is lost. */
  kill(): Promise<void>
  /** Starts it again at the same address, empty. */
  start(): Promise<void>
  /** Its connections stay open and new ones are accepted, but nothing is answered. */
  pause(): void
  resume(): void
  stop(): Promise<void>
}

/** A server of one's own on a free loopback port, holding everything in memory. */
export async function startRedis(options: { arguments?: string[] } = {}): Promise<TestRedis> {
  const directory = mkdtempSync(path.join(tmpdir(), 'cardstall-redis-'))
  const port = await freePort()
  let server: ChildProcess | undefined
  const killNow = () => server?.kill('SIGKILL')
  process.once('exit', killNow)

  async function start(): Promise<void> {
    // Another program can take the port between two starts, for a moment.
    await until(`a Redis server answers on port ${port}`, async () => {
      if (!server || server.exitCode !== null || server.signalCode !== null) {
        server = spawn(
          redisServer!,
          [
            ...['--port', String(port), '--bind', '127.0.0.1', '--dir', directory],
            ...['--save', '', '--appendonly', 'no', ...(options.arguments ?? [])],
          ],
          { stdio: 'ignore' },
        )
      }
      return answers(port)
    })
  }

  async function kill(): Promise<void> {
    if (!server || server.exitCode !== null || server.signalCode !== null) return
    const exit = once(server, 'exit')
    server.kill('SIGKILL')
    await exit
  }

  await start()

  return {
    url: `redis://127.0.0.1:${port}`,

    async command(...args) {
      const client = createClient({
        url: `redis://127.0.0.1:${port}`,
        socket: { reconnectStrategy: false },
      })
      client.on('error', () => {})
      await client.connect()
      try {
        return await client.sendCommand(args)
      } finally {
        client.destroy()
      }
    },

    kill,
    start,
    pause: () => void server?.kill('SIGSTOP'),
    resume: () => void server?.kill('SIGCONT'),

    async stop() {
      await kill()
      process.off('exit', killNow)
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** A loopback port on which nothing listens. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('a server without a port')
  return address.port
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'))
    // Anything will do: one that asks for a password answers too.
    socket.once('data', () => socket.destroy())
    socket.once('error', () => {})
    socket.once('close', () => resolve(socket.bytesRead > 0))
  })
}

function findOnPath(program: string): string | undefined {
  return (process.env.PATH ?? '')
    .split(path.delimiter)
    .filter(Boolean)
    .map((directory) => path.join(directory, program))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Redis } from 'ioredis'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

/** The Redis or Valkey server on PATH. Tests are skipped without one: `describe.skipIf(!redisServer)`. */
export const redisServer = findOnPath('redis-server') ?? findOnPath('valkey-server')

if (!redisServer) {
  console.warn(
    'SKIPPED: the tests against a real Redis. There is no redis-server or valkey-server on PATH;' +
      " Debian's package is called redis-server (apt-get install redis-server).",
  )
}

export type TestRedis = {
  url: string
  /** Sends one command over a new connection. */
  command(...args: string[]): Promise<unknown>
  /** Kills the server; its data is lost. */
  kill(): Promise<void>
  /** Starts the server again at the same address, without data. */
  start(): Promise<void>
  /** Connections stay open and new ones are accepted, but the server does not respond. */
  pause(): void
  resume(): void
  stop(): Promise<void>
}

/** Starts a server on a free loopback port, without persistence. */
export async function startRedis(options: { arguments?: string[] } = {}): Promise<TestRedis> {
  const directory = mkdtempSync(path.join(tmpdir(), 'cardstall-redis-'))
  const port = await freePort()
  let server: ChildProcess | undefined
  const killNow = () => server?.kill('SIGKILL')
  process.once('exit', killNow)

  async function start(): Promise<void> {
    // Another program may take the port for a moment between two starts.
    await until(`a Redis server responds on port ${port}`, async () => {
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
      return responds(port)
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
      const client = new Redis(port, { lazyConnect: true, retryStrategy: null, protocol: 2 })
      client.on('error', () => {})
      try {
        await client.connect()
        return await client.call(...(args as [string]))
      } finally {
        client.disconnect()
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

function responds(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'))
    // Any response will do, also the one that demands a password.
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

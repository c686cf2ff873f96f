import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { expect, it } from 'vitest'
import { testDatabase } from '../test/database.ts'
import { query } from '../test/embedded-homes.ts'
import { whenFileEnds } from '../test/when-file-ends.ts'
import { connect as connectPool } from './connect.ts'

/** Starts a relay in front of the test database. */
async function relayTo(
  databaseUrl: string,
  host: string,
): Promise<(host: string, search?: string) => string> {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  const relay = (client: Socket) => {
    const server = connect(Number(target.port), target.hostname)
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from)
      from.pipe(to)
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroy())
    }
  }
  const listener: Server = createServer(relay).listen(0, host)
  await once(listener, 'listening')
  whenFileEnds(() => {
    listener.close()
    for (const socket of sockets) socket.destroy()
  })
  const { port } = listener.address() as AddressInfo
  return (name, search = '') => {
    const url = new URL(databaseUrl)
    url.search = search
    return url.href.replace(target.host, `${name}:${port}`)
  }
}

const hasIPv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === '::1'),
)

it.skipIf(!hasIPv6)('a database URL can name an IPv6 address', async () => {
  const { url } = await testDatabase('empty')
  const relayed = (await relayTo(url, '::1'))('[::1]')
  expect(await query(relayed, 'select 1 as one')).toEqual([{ one: 1 }])
  const pool = connectPool(relayed, { max: 1 })
  expect(await pool`select 1 as one`).toEqual([{ one: 1 }])
  await pool.end()
})

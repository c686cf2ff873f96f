import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import {
  getCACertificates,
  type SecureContextOptions,
  setDefaultCACertificates,
  TLSSocket,
} from 'node:tls'
import { expect, it } from 'vitest'
import { selfSigned } from '../test/certificate.ts'
import { testDatabase } from '../test/database.ts'
import { query } from '../test/embedded-homes.ts'
import { whenFileEnds } from '../test/when-file-ends.ts'
import { connect as connectPool } from './connect.ts'

/** Starts a relay in front of the test database. With a certificate, it encrypts as PostgreSQL does. */
async function relayTo(
  databaseUrl: string,
  host: string,
  certificate?: SecureContextOptions,
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
  const listener: Server = createServer((client) => {
    if (!certificate) return relay(client)
    client.once('data', () => {
      client.write('S')
      relay(new TLSSocket(client, { ...certificate, isServer: true }))
    })
    client.on('error', () => {})
  }).listen(0, host)
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

const local = await selfSigned('localhost', '127.0.0.1')
const other = await selfSigned('localhost', '192.0.2.1')

it.skipIf(!local)(
  'sslmode=verify-full compares the certificate of the server with the host or IP address of the URL',
  async () => {
    const { url } = await testDatabase('empty')
    const trusted = getCACertificates('default')
    setDefaultCACertificates([...trusted, String(local!.cert), String(other!.cert)])
    const attempt = async (certificate: SecureContextOptions, host: string) => {
      const relayed = (await relayTo(url, '127.0.0.1', certificate))(host, 'sslmode=verify-full')
      const pool = connectPool(relayed, { max: 1 })
      try {
        const alone = await query(relayed, 'select 1 as one').catch(({ code }) => code)
        const pooled = await pool`select 1 as one`.catch((error) => error.cause?.code ?? error.code)
        expect(pooled).toEqual(alone)
        return alone
      } finally {
        await pool.end()
      }
    }
    const accepted = [{ one: 1 }]
    const refused = 'ERR_TLS_CERT_ALTNAME_INVALID'
    try {
      expect(await attempt(local!, '127.0.0.1')).toEqual(accepted)
      expect(await attempt(local!, 'localhost')).toEqual(accepted)
      expect(await attempt(other!, '127.0.0.1')).toEqual(refused)
      expect(await attempt(other!, 'localhost')).toEqual(accepted)
    } finally {
      setDefaultCACertificates(trusted)
    }
  },
)

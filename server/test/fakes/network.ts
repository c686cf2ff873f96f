import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { Network } from '../../outbound/network.ts'
import { whenFileEnds } from '../when-file-ends.ts'

/** DNS and TCP without the real network: names, public addresses, and the local servers behind them. */
export type FakeNetwork = Network & {
  /** The addresses of each name; a function is called for each look-up. */
  names: Map<string, string[] | (() => string[] | Promise<string[]>)>
  /** The local port behind each address. */
  ports: Map<string, number>
  /** Serves a site under a name, on an address of its own. */
  site(name: string, listener: RequestListener): Promise<Site>
  /** The names that were looked up. */
  resolved: string[]
  /** The addresses that were connected to. */
  dialled: string[]
}

export type Site = { url: string; address: string; port: number; server: Server }

export function fakeNetwork(): FakeNetwork {
  const names: FakeNetwork['names'] = new Map()
  const ports: FakeNetwork['ports'] = new Map()
  const resolved: string[] = []
  const dialled: string[] = []
  return {
    names,
    ports,
    resolved,
    dialled,

    async resolve(hostname) {
      resolved.push(hostname)
      const known = names.get(hostname)
      if (!known) throw Object.assign(new Error(`no ${hostname}`), { code: 'ENOTFOUND' })
      return typeof known === 'function' ? known() : known
    },

    dial(addresses) {
      const address = addresses.find((candidate) => ports.has(candidate)) ?? addresses[0]!
      dialled.push(address)
      // An unknown address refuses connections, as port 1 does.
      return connect(ports.get(address) ?? 1, '127.0.0.1')
    },

    async site(name, listener) {
      const { server, port } = await startWebServer(listener)
      const address = `93.184.215.${ports.size + 1}`
      names.set(name, [address])
      ports.set(address, port)
      return { url: `http://${name}`, address, port, server }
    },
  }
}

/** A web server on a free loopback port; it stops when the test file ends. */
export async function startWebServer(
  listener: RequestListener,
): Promise<{ server: Server; port: number }> {
  const server = createServer(listener)
  whenFileEnds(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { server, port: (server.address() as AddressInfo).port }
}

import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect, type Server } from 'node:net'
import type { Network } from '../../outbound/network.ts'
import { whenFileEnds } from '../when-file-ends.ts'

/** An internet made up for tests: names, addresses that look public, and local servers behind them. */
export type Internet = Network & {
  /** Lets a name resolve to these addresses from now on; a function is asked each time. */
  names: Map<string, string[] | (() => string[] | Promise<string[]>)>
  /** The local port behind an address. */
  ports: Map<string, number>
  /** Serves a site under this name, on an address of its own. */
  site(name: string, listener: RequestListener): Promise<Site>
  /** Names that were looked up, and addresses that were dialled. */
  resolved: string[]
  dialled: string[]
}

export type Site = { url: string; address: string; port: number; server: Server }

export function pretendInternet(): Internet {
  const names: Internet['names'] = new Map()
  const ports: Internet['ports'] = new Map()
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
      // Behind an address that nobody has there is a port on which nobody listens.
      return connect(ports.get(address) ?? 1, '127.0.0.1')
    },

    async site(name, listener) {
      const { server, port } = await serve(listener)
      const address = `93.184.215.${ports.size + 1}`
      names.set(name, [address])
      ports.set(address, port)
      return { url: `http://${name}`, address, port, server }
    },
  }
}

/** A web server on a free loopback port, gone after the tests. */
export async function serve(listener: RequestListener): Promise<{ server: Server; port: number }> {
  const server = createServer(listener)
  whenFileEnds(() => stop(server))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { server, port: (server.address() as AddressInfo).port }
}

function stop(server: Server): void {
  server.close()
  if ('closeAllConnections' in server) (server.closeAllConnections as () => void)()
}

import { isIP } from 'node:net'
import { DEFAULT_PORT, splitSocket } from './socket.ts'

/** The server of a URL as our client takes it: the address, and the options that the client can't read from it. */
export type ServerAddress = {
  address: string
  options: { path?: string; host?: string; port?: number; ssl?: { host: string } }
}

/**
 * Reads the server from a URL. Our client splits an IPv6 address at its colons, and compares the certificate of a server
 * with an IP address with the name localhost.
 */
export function serverOf(url: string): ServerAddress {
  const { address, path } = splitSocket(url)
  if (path !== undefined) return { address, options: { path } }
  if (!URL.canParse(url)) return { address, options: {} }
  const { hostname, port, searchParams } = new URL(url)
  const ip = hostname.replace(/^\[|\]$/g, '')
  if (!isIP(ip)) return { address, options: {} }
  const mode = searchParams.get('sslmode') ?? searchParams.get('ssl')
  return {
    address,
    options: {
      // Lists, which the client doesn't split at colons and its types don't declare.
      host: [ip] as unknown as string,
      port: [Number(port || DEFAULT_PORT)] as unknown as number,
      ...(mode?.startsWith('verify-') && { ssl: { host: ip } }),
    },
  }
}

import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect as secure, type TLSSocket } from 'node:tls'
import type { buildConnector } from 'undici'
import { orAborted } from '../time/or-aborted.ts'
import type { Network } from './network.ts'
import { isPublicAddress, literalAddress } from './public-address.ts'

/** The host is, or resolves to, an address that isn't on the public internet. A retry would not help (§6.6.5). */
export class PrivateAddressError extends Error {
  override name = 'PrivateAddressError'
}

type Options = {
  /** Time limit of the DNS lookup, TCP and TLS together. */
  timeoutMs: number
  /** Cancels an attempt to connect. */
  signal?: AbortSignal
  /** WEBHOOK_ALLOW_PRIVATE */
  allowPrivate: boolean
}

/**
 * Connects undici to user-supplied hosts. It resolves the host, requires all of its addresses to be public, and connects
 * to one of them without a second lookup, which could return other addresses (DNS rebinding). The Host header, TLS and
 * the check of the certificate still use the host's name.
 *
 * A keep-alive connection is not checked again. A caller that must check before every request (§6.6.5) calls
 * `publicAddresses` itself and connects with `connectorTo`.
 */
export function guardedConnector(network: Network, options: Options): buildConnector.connector {
  return connector(async (target) => {
    const signal = timeoutSignal(options)
    const addresses = await orAborted(publicAddresses(network, target.hostname, options), signal)
    return connectTo(network, addresses, target, signal)
  })
}

/** Connects undici to these checked addresses, whatever the host's name resolves to now. */
export function connectorTo(
  network: Network,
  addresses: string[],
  options: Pick<Options, 'timeoutMs'>,
): buildConnector.connector {
  return connector((target) => connectTo(network, addresses, target, timeoutSignal(options)))
}

function connector(connect: (target: Target) => Promise<Socket>): buildConnector.connector {
  return ({ hostname, port, protocol }, callback) => {
    const isSecure = protocol === 'https:'
    const target = { hostname, isSecure, port: Number(port) || (isSecure ? 443 : 80) }
    connect(target).then(
      (socket) => callback(null, socket),
      (error) => callback(error, null),
    )
  }
}

/**
 * The addresses of a host, all of them public. A mix of public and private addresses counts as private: no legitimate
 * name has both.
 *
 * @throws PrivateAddressError, or another error if the name cannot be resolved
 */
export async function publicAddresses(
  network: Network,
  hostname: string,
  { allowPrivate }: Pick<Options, 'allowPrivate'>,
): Promise<string[]> {
  const literal = literalAddress(hostname)
  const addresses = literal === undefined ? await network.resolve(hostname) : [literal]
  if (addresses.length === 0) throw new Error('The name has no address.')
  if (!allowPrivate && !addresses.every(isPublicAddress)) {
    throw new PrivateAddressError('The host points to a private or reserved address.')
  }
  return addresses
}

type Target = { hostname: string; port: number; isSecure: boolean }

function timeoutSignal({ timeoutMs, signal }: Pick<Options, 'timeoutMs' | 'signal'>): AbortSignal {
  const timeout = AbortSignal.timeout(timeoutMs)
  return signal ? AbortSignal.any([signal, timeout]) : timeout
}

async function connectTo(
  network: Network,
  addresses: string[],
  { hostname, port, isSecure }: Target,
  signal: AbortSignal,
): Promise<Socket> {
  const socket = network.dial(addresses, port)
  try {
    await once(socket, 'connect', { signal })
    socket.setNoDelay(true)
    return isSecure ? await secured(socket, hostname, signal) : socket
  } catch (error) {
    socket.on('error', () => {}).destroy()
    throw error
  }
}

async function secured(socket: Socket, hostname: string, signal: AbortSignal): Promise<TLSSocket> {
  const name = hostname.replace(/\.$/, '')
  const tls = secure({
    socket,
    // The certificate must match this name. SNI does not allow addresses.
    host: name,
    servername: literalAddress(name) === undefined ? name : '',
    ALPNProtocols: ['http/1.1'],
  })
  try {
    await once(tls, 'secureConnect', { signal })
    return tls
  } catch (error) {
    tls.on('error', () => {}).destroy()
    throw error
  }
}

import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect as secure, type TLSSocket } from 'node:tls'
import type { buildConnector } from 'undici'
import type { Network } from './network.ts'
import { isPublicAddress, literalAddress } from './public-address.ts'

/** The host is, or points to, an address that isn't on the public internet. Another try wouldn't help (§6.6.5). */
export class PrivateAddressError extends Error {
  override name = 'PrivateAddressError'
}

type Options = {
  /** Everything between the name and a connection that's ready for a request. */
  timeoutMs: number
  /** Ends attempts to connect, for who no longer wants one. */
  signal?: AbortSignal
  /** WEBHOOK_ALLOW_PRIVATE */
  allowPrivate: boolean
}

/**
 * Connects undici to addresses that others gave us: the host is resolved now, all of its addresses must be public, and
 * the connection goes to one of those, without a second look-up that could answer otherwise. Name and port
 * stay what they were for the Host header, TLS and the certificate's check.
 *
 * A connection that undici keeps open is not checked again. Who must look before every request (§6.6.5) asks
 * `publicAddresses` itself, and connects with `connectorTo`.
 */
export function guardedConnector(network: Network, options: Options): buildConnector.connector {
  return connector(async (target) => {
    const signal = patienceOf(options)
    const addresses = await orAborted(publicAddresses(network, target.hostname, options), signal)
    return connectTo(network, addresses, target, signal)
  })
}

/** Connects undici to these addresses, which were checked, whatever the host's name points to by now. */
export function connectorTo(
  network: Network,
  addresses: string[],
  options: Pick<Options, 'timeoutMs'>,
): buildConnector.connector {
  return connector((target) => connectTo(network, addresses, target, patienceOf(options)))
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
 * The addresses of a host, each of them public. Mixed answers count as private: nobody has public and private
 * addresses under one name by accident.
 *
 * @throws PrivateAddressError; another error when the name can't be resolved
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

function patienceOf({ timeoutMs, signal }: Pick<Options, 'timeoutMs' | 'signal'>): AbortSignal {
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
    // The certificate must be for this; an address can't be asked for by name.
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

/** A look-up can't be cancelled, only left alone. @throws the signal's reason */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort)
  return Promise.race([work, aborted]).finally(() => signal.removeEventListener('abort', abort))
}

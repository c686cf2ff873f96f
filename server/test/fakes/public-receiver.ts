import type { FakeNetwork } from './network.ts'
import { type Receiver, startReceiver } from './receiver.ts'

/** A webhook receiver under a public name of a fake network. */
export type PublicReceiver = Receiver & {
  /** Points the name to a private address: deliveries fail at their first attempt (§6.6.5). */
  hide(): void
  /** Points the name to the receiver again. */
  show(): void
}

let receivers = 0

export async function startPublicReceiver(network: FakeNetwork): Promise<PublicReceiver> {
  const receiver = await startReceiver()
  const number = ++receivers
  const [name, address] = [`shop-${number}.example`, `93.184.216.${number}`]
  network.ports.set(address, receiver.port)
  const publicReceiver = Object.assign(receiver, {
    url: `http://${name}/hooks`,
    hide: () => void network.names.set(name, ['10.0.0.1']),
    show: () => void network.names.set(name, [address]),
  })
  publicReceiver.show()
  return publicReceiver
}

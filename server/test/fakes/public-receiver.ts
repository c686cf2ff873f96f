import type { Internet } from './network.ts'
import { type Receiver, startReceiver } from './receiver.ts'

/** A receiver under a public name of a made-up internet. */
export type Hook = Receiver & {
  /** Lets the name point to a private address: from now on a delivery fails with its first attempt (§6.6.5). */
  hide(): void
  /** The name points to the receiver again. */
  show(): void
}

let hooks = 0

export async function startHook(internet: Internet): Promise<Hook> {
  const receiver = await startReceiver()
  const number = ++hooks
  const [name, address] = [`shop-${number}.example`, `93.184.216.${number}`]
  internet.ports.set(address, receiver.port)
  const hook = Object.assign(receiver, {
    url: `http://${name}/hooks`,
    hide: () => void internet.names.set(name, ['10.0.0.1']),
    show: () => void internet.names.set(name, [address]),
  })
  hook.show()
  return hook
}

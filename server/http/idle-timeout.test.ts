import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, it } from 'vitest'
import { withIdleTimeout } from './idle-timeout.ts'

it('a chunk that arrived while the process was paused is not late', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const body = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [peer] = (await once(server, 'connection')) as [Socket]
  const chunk = withIdleTimeout(body, 50).next()
  peer.end('in time')
  // Blocks this thread, like a paused machine.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
  expect(await chunk).toEqual({ done: false, value: Buffer.from('in time') })
  body.destroy()
  server.close()
})

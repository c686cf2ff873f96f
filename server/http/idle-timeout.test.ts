import { expect, it } from 'vitest'
import { socketPair } from '../test/socket-pair.ts'
import { standStill } from '../test/stand-still.ts'
import { withIdleTimeout } from './idle-timeout.ts'

it('a chunk that arrived while the process was paused is not late', async () => {
  const { client, peer } = await socketPair()
  const chunk = withIdleTimeout(client, 50).next()
  peer.end('in time')
  standStill(100)
  expect(await chunk).toEqual({ done: false, value: Buffer.from('in time') })
})

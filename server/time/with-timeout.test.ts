import { once } from 'node:events'
import { expect, it } from 'vitest'
import { socketPair } from '../test/socket-pair.ts'
import { standStill } from '../test/stand-still.ts'
import { withTimeout } from './with-timeout.ts'

it('a result that arrived while the process was paused is not late', async () => {
  const { client, peer } = await socketPair()
  const result = withTimeout<unknown>(50, once(client, 'data'), () => 'late')
  peer.end('in time')
  standStill(100)
  expect(await result).toEqual([Buffer.from('in time')])
})

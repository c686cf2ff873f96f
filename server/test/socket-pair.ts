import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { whenFileEnds } from './when-file-ends.ts'

/** The two ends of a TCP connection. */
export async function socketPair(): Promise<{ client: Socket; peer: Socket }> {
  const server = createServer().listen(0, '127.0.0.1')
  whenFileEnds(() => server.close())
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  whenFileEnds(() => client.destroy())
  const [[peer]] = await Promise.all([once(server, 'connection'), once(client, 'connect')])
  return { client, peer }
}

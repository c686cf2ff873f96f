import { Pool } from 'undici'

/** Sends the same POSTs with undici alone, without claims, DNS, signatures or records. Runs in its own process. */
export type BarePosts = {
  origin: string
  path: string
  headers: Record<string, string>
  body: string
  connections: number
  posts: number
}

let pool: Pool | undefined

process.on('message', async ({ origin, path, headers, body, connections, posts }: BarePosts) => {
  pool ??= new Pool(origin)
  const cpu = process.cpuUsage()
  let remaining = posts
  const loop = async () => {
    while (remaining-- > 0) {
      const response = await pool!.request({ method: 'POST', path, headers, body })
      await response.body.dump()
    }
  }
  await Promise.all(Array.from({ length: connections }, loop))
  const { user, system } = process.cpuUsage(cpu)
  process.send!({ cpu: user + system })
})

import { Pool } from 'undici'

/** The same POSTs by undici alone: nothing is claimed, looked up, signed or noted. Runs as a process of its own. */
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
  let left = posts
  const loop = async () => {
    while (left-- > 0) {
      const answer = await pool!.request({ method: 'POST', path, headers, body })
      await answer.body.dump()
    }
  }
  await Promise.all(Array.from({ length: connections }, loop))
  const { user, system } = process.cpuUsage(cpu)
  process.send!({ cpuMs: (user + system) / 1000 })
})

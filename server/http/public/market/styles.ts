import { readFile } from 'node:fs/promises'
import type { FastifyInstance } from 'fastify'
import { lazy } from '../../lazy.ts'
import { sendAsset } from '../../page.ts'

/** `/market.css`: the style sheet of the public pages. */
export function marketStyles(app: FastifyInstance): void {
  const styles = lazy(() => readFile(new URL('market.css', import.meta.url)))
  app.get('/market.css', async (_request, reply) => sendAsset(reply, await styles(), 'text/css'))
}

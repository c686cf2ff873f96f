import { readFile } from 'node:fs/promises'
import type { FastifyPluginCallback } from 'fastify'
import { lazy } from '../../lazy.ts'
import { sendAsset } from '../../page.ts'

/** `/market.css`: the style sheet of the public pages. */
export const marketStyles: FastifyPluginCallback = (app, _options, done) => {
  const styles = lazy(() => readFile(new URL('market.css', import.meta.url), 'utf8'))
  app.get('/market.css', async (_request, reply) => sendAsset(reply, await styles(), 'text/css'))
  done()
}

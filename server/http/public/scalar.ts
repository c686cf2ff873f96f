import Fastify from 'fastify'

/** Without it, Zod in Scalar tests whether it may evaluate code, which the Content-Security-Policy blocks. */
const WITHOUT_EVAL = 'globalThis.__zod_globalConfig = { jitless: true };\n'

/**
 * The script of Scalar, which draws the API reference. A build of the dashboard adds it to its files, because the package
 * of 18 MB is one of those that only development needs.
 */
export async function readScalar(): Promise<string> {
  const scalar = await import('@scalar/fastify-api-reference')
  const app = Fastify()
  await app.register(scalar.default, { routePrefix: '/', configuration: { url: '/' } })
  const { body } = await app.inject('/js/scalar.js')
  await app.close()
  return WITHOUT_EVAL + body
}

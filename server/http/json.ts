type Reply = { header(name: string, value: string): { send(body: unknown): unknown } }

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Sends serialised JSON. The compiler can't check it against the schema; the tests do. */
export const sendJson = (reply: Reply, body: Buffer | string) =>
  reply.header('content-type', JSON_TYPE).send(body) as never

/** The values of an `include` parameter. */
export const included = (include: string | undefined) => new Set(include?.split(','))

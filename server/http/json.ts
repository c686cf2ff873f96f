type Reply = { header(name: string, value: string): { send(body: unknown): unknown } }

/** Sends bytes that are JSON already. The type checker can't see into them; the tests hold them against the schema. */
export const sendJson = (reply: Reply, body: Buffer | string) =>
  reply.header('content-type', 'application/json; charset=utf-8').send(body) as never

/** The values of an `include` parameter; those the operation doesn't know are ignored. */
export const included = (include: string | undefined) => new Set(include?.split(','))

type Reply = { header(name: string, value: string): { send(body: unknown): unknown } }

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Sends serialised JSON. The compiler can't check it against the schema; the tests do. */
export const sendJson = (reply: Reply, body: Buffer | string) =>
  reply.header('content-type', JSON_TYPE).send(body) as never

/** Sends the response of `once`, first or repeated, with its status. */
export const sendStored = (
  reply: { code(status: never): Reply },
  { status, body }: { status: number; body: string },
) => sendJson(reply.code(status as never), body)

/** The values of an `include` parameter. */
export const included = (include: string | undefined) => new Set(include?.split(','))

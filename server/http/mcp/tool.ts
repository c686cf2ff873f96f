import Type, { type Static, type TObject, type TProperties, type TSchema } from 'typebox'
import { validationError } from '../../errors.ts'
import type { Scope } from '../../keys/scopes.ts'
import type { Access } from '../../oauth/access.ts'
import type { Service } from '../../service.ts'
import { messagesOf } from '../validate.ts'
import { outline, published } from './published-schema.ts'

/** The seller for whom a program calls a tool, and the scopes that the seller granted. */
export type SellerCall = Pick<Access, 'account' | 'scopes'>

/** A link that a result contains in addition to its object. */
export type Link = { uri: string; name: string; mimeType: string; description: string }

/**
 * A tool, ready to be listed and called. Made once per process, because its schema is compiled. A tool that anyone may
 * call ignores the caller.
 */
export type Tool<Caller = SellerCall> = {
  name: string
  /** Scope that a token needs; null if any token will do. */
  scope: Scope | null
  isRead: boolean
  /** Whether the same call can be repeated without a further effect. */
  isIdempotent: boolean
  /** The entry of `tools/list`. */
  listed: object
  /** The exact shape of a result. `tools/list` has its outline only. */
  output: TSchema
  /**
   * The arguments of a call, without those that count as absent: null in an optional field whose schema does not accept
   * it, because many models fill in all fields, and, if the tool reads, an empty text in one, like an empty parameter of a
   * query.
   *
   * @throws validation_error for arguments that don't match the input schema
   */
  read(args: Record<string, unknown>): Record<string, unknown>
  run(ctx: Service, args: Record<string, unknown>, caller: Caller): Promise<object> | object
  linkOf: ((result: never) => Link | undefined) | undefined
}

/** The effect of a call on the world, by which a client decides whether to ask its user first (MCP's annotations). */
type Effect =
  | { reads: true }
  | { reads?: false; destructive: boolean; idempotent: boolean; reachesOutside?: boolean }

/** Makes a tool. Its input refuses unknown fields, because a misspelt filter would silently return everything. */
export function tool<Input extends TProperties, Result extends object, Caller>({
  name,
  title,
  description,
  scope,
  input,
  output,
  effect,
  run,
  linkOf,
}: {
  name: string
  title: string
  description: string
  scope: Scope | null
  input: Input
  output: TSchema
  effect: Effect
  run(ctx: Service, args: Static<TObject<Input>>, caller: Caller): Promise<Result> | Result
  linkOf?: (result: Result) => Link | undefined
}): Tool<Caller> {
  const schema = Type.Object(input, { additionalProperties: false })
  const isRead = effect.reads === true
  const optional = optionalFields(input)
  const messages = messagesOf(schema)
  return {
    name,
    scope,
    isRead,
    isIdempotent: effect.reads || effect.idempotent,
    listed: {
      name,
      title,
      description,
      inputSchema: published(schema),
      outputSchema: outline(output),
      annotations: effect.reads
        ? { readOnlyHint: true, openWorldHint: false }
        : {
            readOnlyHint: false,
            destructiveHint: effect.destructive,
            idempotentHint: effect.idempotent,
            openWorldHint: effect.reachesOutside ?? false,
          },
    },
    output,
    read(given) {
      const args = withoutAbsent(given, optional, isRead)
      const problems = messages(args)
      if (Object.keys(problems).length > 0) throw validationError(problems)
      return args
    },
    run: run as Tool<Caller>['run'],
    linkOf: linkOf as Tool<Caller>['linkOf'],
  }
}

/** The types of the optional fields, by their names. */
const optionalFields = (input: TProperties) =>
  new Map(
    Object.entries<TSchema & { type?: string | string[] }>(input)
      .filter(([, field]) => Type.IsOptional(field))
      .map(([name, { type }]) => [name, [type].flat()]),
  )

const withoutAbsent = (
  args: Record<string, unknown>,
  optional: ReturnType<typeof optionalFields>,
  isRead: boolean,
) =>
  Object.fromEntries(
    Object.entries(args).filter(([name, value]) => {
      const types = optional.get(name)
      if (!types) return true
      if (value === null) return types.includes('null')
      return value !== '' || !isRead || !types.includes('string')
    }),
  )

export const READS = { reads: true } as const

import type { FastifyRequest } from 'fastify'
import { accountNotFound } from '../../accounts/account.ts'
import { getAccount } from '../../accounts/accounts.ts'
import type { Service } from '../../service.ts'
import { pathId } from '../validate.ts'

/** A preValidation hook: an unknown account is 404 even if the body is invalid. */
export const accountExists = (ctx: Service) => async (request: FastifyRequest) => {
  const id = pathId((request.params as { id?: unknown }).id)
  if (id === undefined) throw accountNotFound()
  await getAccount(ctx, id)
}

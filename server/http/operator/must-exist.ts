import type { FastifyRequest } from 'fastify'
import { accountNotFound } from '../../accounts/account.ts'
import { getAccount } from '../../accounts/accounts.ts'
import type { ApiError } from '../../errors.ts'
import { orderNotFound } from '../../orders/order.ts'
import { getOrder } from '../../orders/orders.ts'
import type { Service } from '../../service.ts'
import { pathId } from '../validate.ts'

/**
 * A preValidation hook: an unknown record gets 404 even if the body is invalid.
 *
 * @param read throws not_found for an unknown record
 * @param notFound the error for a path whose `id` can't be one
 */
export const mustExist =
  (read: (id: number) => Promise<unknown>, notFound: () => ApiError) =>
  async ({ params }: FastifyRequest): Promise<void> => {
    const id = pathId((params as { id?: unknown }).id)
    if (id === undefined) throw notFound()
    await read(id)
  }

/** `mustExist` for the account of a path. */
export const accountExists = (ctx: Service) =>
  mustExist((id) => getAccount(ctx, id), accountNotFound)

/** `mustExist` for the order row of a path. */
export const orderExists = (ctx: Service) => mustExist((id) => getOrder(ctx, id), orderNotFound)

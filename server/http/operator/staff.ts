import Type from 'typebox'
import type { Service } from '../../service.ts'
import { addStaff, listStaff, revokeStaff } from '../../staff/staff.ts'
import { sendOnce } from '../idempotency.ts'
import { idempotencyKeyHeader, secretForOperator } from '../idempotency-key.ts'
import type { App } from '../schema.ts'
import { Data, PathId } from '../schema.ts'
import {
  CallerSchema,
  exampleStaff,
  NewStaff,
  StaffInput,
  StaffSchema,
  staffJson,
} from '../shapes/staff.ts'
import { operationsOf } from './permissions.ts'

export function staffRoutes(app: App, ctx: Service): void {
  app.post(
    '/staff',
    {
      schema: {
        operationId: 'addStaff',
        summary: 'Add a staff member',
        description:
          'Creates a token for one person or program, with a role. Only this response contains the token; the service stores its hash. With an `Idempotency-Key` you can safely repeat the request for 24 hours: the service keeps the response encrypted for this time.',
        tags: ['Staff'],
        headers: idempotencyKeyHeader,
        body: StaffInput,
        response: { 201: NewStaff },
        'x-errors': ['validation_error'],
        'x-example': {
          data: exampleStaff,
          token: 'svc_staff_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0',
        },
      },
    },
    async (request, reply) => {
      const identity = secretForOperator(request, 'addStaff', 0)
      return sendOnce(ctx, reply, identity, async (tx) => {
        const { member, token } = await addStaff(tx, request.body)
        return { status: 201, body: { data: staffJson(member), token } }
      })
    },
  )

  app.get(
    '/staff',
    {
      schema: {
        operationId: 'listStaff',
        summary: 'List staff members',
        description:
          'Returns all staff members, oldest first, including those whose token is revoked. Not paginated.',
        tags: ['Staff'],
        response: { 200: Data(Type.Array(StaffSchema), 'The staff members') },
        'x-example': { data: [exampleStaff] },
      },
    },
    async () => ({ data: (await listStaff(ctx)).map(staffJson) }),
  )

  app.get(
    '/staff/me',
    {
      schema: {
        operationId: 'getCaller',
        summary: 'Read the owner of the token',
        description:
          'Returns the name and role of the token’s owner, and the operations that the token may call.',
        tags: ['Staff'],
        response: { 200: Data(CallerSchema, 'The owner of the token') },
        'x-example': {
          data: { id: 4, name: 'Importer', role: 'catalog', operations: operationsOf('catalog') },
        },
      },
    },
    ({ operator: { staffId, name, role } }) => ({
      data: { id: staffId, name, role, operations: operationsOf(role) },
    }),
  )

  app.delete(
    '/staff/:id',
    {
      schema: {
        operationId: 'revokeStaff',
        summary: 'Revoke a staff token',
        description:
          'The token stops working at once, in all processes. Revoking it again changes nothing.',
        tags: ['Staff'],
        params: Type.Object({ id: PathId('The staff member') }),
        response: { 204: Type.Null({ description: 'Revoked' }) },
      },
    },
    async ({ params }, reply) => {
      await revokeStaff(ctx, params.id)
      return reply.code(204).send(null)
    },
  )
}

import Type from 'typebox'
import {
  dismissNotice,
  listNotices,
  type Notice,
  type NoticeFacts,
  type NoticeKind,
} from '../../notices/notices.ts'
import type { Service } from '../../service.ts'
import { timestamp } from '../../time/timestamp.ts'
import { pageParameters, paginated } from '../paginate.ts'
import type { App } from '../schema.ts'
import { Paginated, PathId, Timestamp } from '../schema.ts'

/** A notice with the facts of its kind. */
export type NoticeRecord = {
  [K in NoticeKind]: {
    id: number
    kind: K
    subject_id: number
    data: NoticeFacts[K]
    count: number
    created_at: string
  }
}[NoticeKind]

const NoticeSchema = Type.Unsafe<NoticeRecord>(
  Type.Object({
    id: Type.Integer(),
    kind: Type.String(),
    subject_id: Type.Integer(),
    data: Type.Object({}, { additionalProperties: true }),
    count: Type.Integer(),
    created_at: Timestamp(),
  }),
)

/** The account's notices, which any of its members can dismiss. */
export function noticesApi(app: App, ctx: Service): void {
  app.get(
    '/notices',
    {
      schema: {
        querystring: Type.Object(pageParameters),
        response: { 200: Paginated(NoticeSchema, 'A page of notices') },
      },
    },
    async (request) =>
      paginated(
        ctx,
        request,
        (page) => listNotices(ctx, request.member.accountId, page),
        noticeJson,
      ),
  )

  app.delete(
    '/notices/:id',
    {
      schema: {
        params: Type.Object({ id: PathId('The notice') }),
        response: { 204: Type.Null({ description: 'Dismissed' }) },
      },
    },
    async ({ member, params }, reply) => {
      await dismissNotice(ctx, member.accountId, params.id)
      return reply.code(204).send(null)
    },
  )
}

const noticeJson = ({ id, kind, subjectId, data, count, createdAt }: Notice) =>
  ({
    id,
    kind,
    subject_id: subjectId,
    data,
    count,
    created_at: timestamp(createdAt),
  }) as NoticeRecord

import Type, { type Static } from 'typebox'
import { MAIL_STATUSES, type Mail } from '../../mail/mail.ts'
import { timestamp, timestampOrNull } from '../../time/timestamp.ts'
import { component, Nullable, OneOf, Timestamp } from '../schema.ts'

export const MailSchema = component(
  'Mail',
  Type.Object(
    {
      to: Type.String(),
      subject: Type.String(),
      text: Type.String({ description: 'The whole text of the e-mail. There is no HTML part' }),
      created_at: Timestamp(),
    },
    { description: 'An e-mail that the service has written.' },
  ),
)

export const mailJson = ({ to, subject, text, createdAt }: Mail): Static<typeof MailSchema> => ({
  to,
  subject,
  text,
  created_at: timestamp(createdAt),
})

export const exampleMail = {
  to: 'kanto@shops.example',
  subject: 'A webhook endpoint was disabled',
  text: 'https://kanto.example/hooks has not responded for a day.\n',
  created_at: '2026-03-01T09:30:00Z',
}

export const OperatorMailSchema = component(
  'OperatorMail',
  Type.Object(
    {
      id: Type.Integer(),
      to: Type.String(),
      subject: Type.String(),
      text: Type.String({ description: 'With `…` for a link that works as a credential' }),
      status: OneOf(MAIL_STATUSES, {
        description: '`captured` in the sandbox or `logged` if there is no mail server',
      }),
      error: Nullable(Type.String(), { description: 'Reason of the last failure' }),
      slice_key: Nullable(Type.String(), {
        description: 'The slice that it is about; the first one, if it is about a whole checkout',
      }),
      created_at: Timestamp(),
      sent_at: Nullable(Timestamp()),
    },
    { description: 'An e-mail of the outbox.' },
  ),
)

export const operatorMailJson = (mail: Mail): Static<typeof OperatorMailSchema> => ({
  id: mail.id,
  to: mail.to,
  subject: mail.subject,
  text: mail.text,
  status: mail.status,
  error: mail.error,
  slice_key: mail.sliceKey,
  created_at: timestamp(mail.createdAt),
  sent_at: timestampOrNull(mail.sentAt),
})

export const exampleOperatorMail: Static<typeof OperatorMailSchema> = {
  id: 3021,
  to: 'ash@buyers.example',
  subject: 'On its way: Charizard VSTAR',
  text: 'Hello Ash Ketchum,\n\nKanto Cards has shipped Charizard VSTAR (order 501).\n',
  status: 'sent',
  error: null,
  slice_key: 'slc_p1Jm0KQ8yVn3xXo2bT5sWg',
  created_at: '2026-03-02T18:05:12Z',
  sent_at: '2026-03-02T18:05:13Z',
}

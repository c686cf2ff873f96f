import Type, { type Static } from 'typebox'
import type { Mail } from '../../mail/mail.ts'
import { timestamp } from '../../time/timestamp.ts'
import { component, Timestamp } from '../schema.ts'

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
  text: 'https://kanto.example/hooks has not answered for a day.\n',
  created_at: '2026-03-01T09:30:00Z',
}

import Type, { type Static } from 'typebox'
import { PHOTO_STATUSES, type Photo, photoUrl, thumbnailUrl } from '../../photos/photo.ts'
import { timestampOrNull } from '../../time/timestamp.ts'
import { component, Nullable, OneOf, Timestamp } from '../schema.ts'

export const PhotoSchema = component(
  'Photo',
  Type.Object(
    {
      photo_url: Type.String({ description: 'As the seller sent it' }),
      status: OneOf(PHOTO_STATUSES, {
        description:
          '`waiting` for a try, `stored` and attached to the listing, or `failed` for good',
      }),
      error: Nullable(Type.String(), {
        description: 'Why the last try failed, also while another is to come',
      }),
      url: Nullable(Type.String(), { description: 'The stored photo' }),
      thumbnail_url: Nullable(Type.String(), { description: 'As it stands in `photos`' }),
      attempts: Type.Integer({ description: 'Tries begun so far, of three' }),
      next_attempt_at: Nullable(Timestamp(), { description: 'null unless `waiting`' }),
    },
    { description: 'An entry of `photo_urls` and what has become of it.' },
  ),
)

export const photoJson = (
  publicUrl: string,
  { url, status, error, name, attempts, nextAttemptAt }: Photo,
): Static<typeof PhotoSchema> => ({
  photo_url: url,
  status,
  error,
  url: name && photoUrl(publicUrl, name),
  thumbnail_url: name && thumbnailUrl(publicUrl, name),
  attempts,
  next_attempt_at: timestampOrNull(nextAttemptAt),
})

import Type, { type Static } from 'typebox'
import { PHOTO_STATUSES, type Photo, photoUrl, thumbnailUrl } from '../../photos/photo.ts'
import { timestampOrNull } from '../../time/timestamp.ts'
import { component, Nullable, OneOf, Timestamp } from '../schema.ts'

export const PhotoSchema = component(
  'Photo',
  Type.Object(
    {
      photo_url: Type.String({ description: 'URL that the seller sent' }),
      status: OneOf(PHOTO_STATUSES, {
        description:
          '`waiting`: an attempt is scheduled. `stored`: the photo is attached to the listing. `failed`: all attempts failed.',
      }),
      error: Nullable(Type.String(), {
        description: 'Reason why the last attempt failed, also while another attempt is scheduled',
      }),
      url: Nullable(Type.String(), { description: 'URL of the stored photo' }),
      thumbnail_url: Nullable(Type.String(), {
        description: 'URL of the thumbnail, as in `photos`',
      }),
      attempts: Type.Integer({ description: 'Number of attempts started so far, at most three' }),
      next_attempt_at: Nullable(Timestamp(), { description: 'null unless `waiting`' }),
    },
    { description: 'An entry of `photo_urls` and its current state.' },
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

export const examplePhoto: Static<typeof PhotoSchema> = {
  photo_url: 'https://photos.example/charizard.jpg',
  status: 'stored',
  error: null,
  url: 'https://cards.example/photos/bU3mJ0Kc2rQe9XnYw1sZ5A.jpg',
  thumbnail_url: 'https://cards.example/photos/bU3mJ0Kc2rQe9XnYw1sZ5A-thumb.jpg',
  attempts: 1,
  next_attempt_at: null,
}

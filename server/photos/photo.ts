/** Where anyone can see a stored photo, small: what the `photos` of a listing hold (§2.6). */
export const thumbnailUrl = (publicUrl: string, name: string) =>
  `${publicUrl}/photos/${name}-thumb.jpg`

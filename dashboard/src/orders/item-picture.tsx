import { useState } from 'react'

/** An item's small picture. The item's name stands next to it, so a picture that is missing leaves its space empty. */
export function ItemPicture({ url }: { url: string | null }) {
  const [isMissing, setIsMissing] = useState(url === null)
  return isMissing || url === null ? (
    <span className="item-picture" />
  ) : (
    <img
      className="item-picture"
      src={url}
      alt=""
      width="36"
      height="50"
      loading="lazy"
      onError={() => setIsMissing(true)}
    />
  )
}

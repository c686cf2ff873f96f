import { useState } from 'react'

/** A small picture of a card or product; an empty frame without one. The name stands next to it. */
export function Picture({ src, name }: { src: string | null; name: string }) {
  const [isMissing, setIsMissing] = useState(false)
  return src === null || isMissing ? (
    <span className="card-picture" aria-hidden="true" />
  ) : (
    <img
      className="card-picture"
      src={src}
      alt=""
      title={name}
      width="45"
      height="63"
      loading="lazy"
      onError={() => setIsMissing(true)}
    />
  )
}

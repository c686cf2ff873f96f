/** A small picture of a card or product; an empty frame without one. The name stands next to it. */
export const Picture = ({ src, name }: { src: string | null; name: string }) =>
  src === null ? (
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
    />
  )

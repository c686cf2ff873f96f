import type { ComponentPropsWithoutRef } from 'react'

type Props = ComponentPropsWithoutRef<'ul'> & { as?: 'ul' | 'ol' }

/** A list without markers. Safari's screen reader says that such an element is a list only if it has the role. */
export const List = ({ as: Element = 'ul', ...props }: Props) => <Element role="list" {...props} />

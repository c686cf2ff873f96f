import { Component, type ReactNode } from 'react'
import { Button } from '../ui/button.tsx'
import { Empty } from '../ui/states.tsx'

type Props = { children: ReactNode }
type State = { error: Error | undefined }

/**
 * Shows an error of a page in its place; the navigation goes on working. After an update of the service the chunk of a page
 * that was not visited before no longer exists: loading the page again gets the new version.
 */
export class PageErrors extends Component<Props, State> {
  override state: State = { error: undefined }

  static getDerivedStateFromError(error: Error): State {
    return { error }
  }

  override render() {
    const { error } = this.state
    if (!error) return this.props.children
    const isUpdated = /dynamically imported module|module script/i.test(error.message)
    return (
      <Empty
        title={isUpdated ? 'The dashboard was updated' : 'This page has failed'}
        icon={isUpdated ? 'refresh' : 'warning'}
        action={
          <Button look="primary" onPress={() => window.location.reload()}>
            Load the page again
          </Button>
        }
      >
        {isUpdated ? 'Load the page again to use the new version.' : error.message}
      </Empty>
    )
  }
}

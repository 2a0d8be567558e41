import type { SiteNode } from '#conductor/sites/site.ts';
import type { NodePhase } from '#conductor/sites/strategy/site-run.ts';

/** What an action wants of a node. Given again and again until it has ended; each time all that is known is in the database. */
export interface NodeOrder {
  readonly node: SiteNode;
  readonly phase: NodePhase;
  /** Break off what this action has begun, and leave the node in a known state; it ends as `failed` with this reason. */
  readonly cancel?: string;
}

export type NodeOutcome =
  /** @property doing for people: `cleaning: deploy.erase_devices_metadata, 40 %` */
  | { readonly state: 'working'; readonly doing: string }
  /** @property remark `it was deployed already`; the documents may say something else since */
  | { readonly state: 'done'; readonly remark?: string }
  | { readonly state: 'failed'; readonly error: string };

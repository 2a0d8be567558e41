import type { Interface } from '#conductor/flows/validate-node.ts';
import type { FlowKindName } from '#conductor/model/flow-states.ts';
import type { VerbEvent } from '#conductor/model/provision-states.ts';

/** What an operator's verb starts. */
export interface VerbWork {
  /** The flow; none = the state changes at once. */
  readonly kind?: FlowKindName;
  /** Interfaces that must be valid. */
  readonly needs: readonly Interface[];
}

const ramdisk = ['power', 'management', 'boot', 'network'] as const;
const instance = ['power', 'management', 'network'] as const;

export const verbWork: Readonly<Record<VerbEvent, VerbWork>> = {
  manage: { kind: 'verify', needs: ['power', 'management'] },
  provide: { kind: 'clean', needs: instance },
  inspect: { kind: 'inspect', needs: [...ramdisk, 'inspect'] },
  clean: { kind: 'manual_clean', needs: ramdisk },
  adopt: { kind: 'adopt', needs: ['power', 'management'] },
  deploy: { kind: 'deploy', needs: [...ramdisk, 'deploy'] },
  rebuild: { kind: 'deploy', needs: [...ramdisk, 'deploy'] },
  delete: { kind: 'teardown', needs: instance },
  rescue: { kind: 'rescue', needs: [...ramdisk, 'rescue'] },
  unrescue: { kind: 'unrescue', needs: instance },
  service: { kind: 'service', needs: ramdisk },
  unhold: { needs: [] },
  abort: { needs: [] },
};

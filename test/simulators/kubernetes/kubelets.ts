import { newNode } from '#test/simulators/kubernetes/scene.ts';
import type { KubernetesSimulator } from '#test/simulators/kubernetes/simulator.ts';

/** How a machine's kubelet joins once its instance has booted. */
export interface Joining {
  /** Milliseconds after the boot, or when this comes true; `never` = it does not. */
  readonly after: number | 'never' | Promise<unknown>;
  /** It reports the boot that it reported before: somebody else, or a stale image of it. */
  readonly asImpostor?: boolean;
}

interface Machine {
  state(): { readonly runs: string };
  boots(): number;
}

export interface Kubelets {
  /** From its next boot on. */
  set(name: string, joining: Joining): void;
  /** Names of machines in the order in which their kubelets joined. */
  readonly joined: readonly string[];
  close(): void;
}

const lookMs = 20;

/** Kubelets of machines: each joins the cluster when its machine runs its instance, and falls silent when it does not. */
export function startKubelets(
  { store, world }: Pick<KubernetesSimulator, 'store' | 'world'>,
  machines: ReadonlyMap<string, Machine>,
  { onJoin = () => undefined }: { readonly onJoin?: (name: string) => void } = {},
): Kubelets {
  const joinings = new Map<string, Joining>();
  const seen = new Map<string, number>();
  const bootIds = new Map<string, string>();
  const joined: string[] = [];
  const timers = new Set<NodeJS.Timeout>();

  const join = (name: string, bootId: string): void => {
    bootIds.set(name, bootId);
    joined.push(name);
    world.startKubelet(name);
    const { status, ...node } = newNode(name, {}, bootId);
    const known = store.find('nodes', name);
    if (known) store.replace('nodes', { ...known, ...(status ? { status } : {}) });
    else store.create('nodes', { ...node, ...(status ? { status } : {}) });
    onJoin(name);
  };
  const look = setInterval(() => {
    for (const [name, machine] of machines) {
      const boot = machine.state().runs === 'instance' ? machine.boots() : 0;
      if (seen.get(name) === boot) continue;
      seen.set(name, boot);
      if (boot === 0) {
        if (bootIds.has(name)) world.stopKubelet(name);
        continue;
      }
      const { after, asImpostor = false } = joinings.get(name) ?? { after: 0 };
      if (after === 'never') continue;
      const bootId = asImpostor ? (bootIds.get(name) ?? 'boot-0') : `${name}-boot-${boot}`;
      const joinInThisBoot = (): void => {
        if (seen.get(name) === boot) join(name, bootId);
      };
      if (typeof after !== 'number') {
        void after.then(joinInThisBoot);
        continue;
      }
      const timer = setTimeout(() => {
        timers.delete(timer);
        joinInThisBoot();
      }, after);
      timers.add(timer);
    }
  }, lookMs);
  return {
    set: (name, joining) => void joinings.set(name, joining),
    joined,
    close: () => {
      clearInterval(look);
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

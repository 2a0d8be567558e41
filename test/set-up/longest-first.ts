import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take minutes, in the order in which they begin; all others follow. vitest itself begins with the largest
 * files, and these are small ones: it would leave the longest to the end, where one of two cores has nothing to do.
 * Machines in QEMU keep the cores busy, the other tests mostly wait for something: they take turns.
 */
export const longest: readonly string[] = [
  'vm/whole-uefi.test.ts',
  'vm/whole-bios.test.ts',
  'switches/os/os.test.ts',
  'system/site-actions.test.ts',
  'system/some-flows.test.ts',
  'vm/redeploy.test.ts',
  'system/kill-conductor.test.ts',
  'vm/raid1.test.ts',
  'system/every-flow.test.ts',
  'vm/site.test.ts',
  'system/step-failures.test.ts',
  'system/redeploy.test.ts',
  'vm/steps.test.ts',
  'system/redeploy-back.test.ts',
  'system/write-image.test.ts',
  'system/site-strategy.test.ts',
  'vm/deploy.test.ts',
  'system/conductors.test.ts',
  'system/step-timeouts.test.ts',
  'vm/partition-image.test.ts',
  'system/bios.test.ts',
  'interop/real-ironic.test.ts',
  'vm/bios-efi.test.ts',
  'system/etcd.test.ts',
  'vm/wipe.test.ts',
  'system/kubernetes.test.ts',
  'vm/erase.test.ts',
  'interop/real-agent.test.ts',
  'vm/inspect.test.ts',
];

/** Pure; keeps the order of what it does not know. */
export function longestFirst<File extends { readonly moduleId: string }>(files: readonly File[]): File[] {
  return files.toSorted((a, b) => place(a) - place(b));
}

function place({ moduleId }: { readonly moduleId: string }): number {
  const index = longest.findIndex((file) => moduleId.endsWith(`/${file}`));
  return index === -1 ? longest.length : index;
}

/**
 * Orders files: those that need machines begin, the longest first; nearly all unit tests are short: they fill up the
 * cores at the end.
 */
export class LongestFirstSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isShort = (file: TestSpecification): boolean =>
      file.project.name === 'unit' && place(file) === longest.length;
    return [...longestFirst(sorted.filter((file) => !isShort(file))), ...sorted.filter(isShort)];
  }
}

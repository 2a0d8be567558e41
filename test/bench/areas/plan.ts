import { z } from 'zod';
import { planDestroys } from '#conductor/flows/plan/plan-destroys.ts';
import { planSteps } from '#conductor/flows/plan/plan-steps.ts';
import { planHash } from '#conductor/flows/plan/read-plan.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import type { PlanFacts } from '#conductor/model/flows/planned-step.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { toKnownDisk } from '#conductor/model/known-disk.ts';
import { InventoryDocument } from '#shared/wire/inventory.ts';
import { AdvertisedStep } from '#shared/wire/step.ts';
import { type Area, median, round } from '#test/bench/area.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

const rounds = 500;
const size = 100;
const coreSteps = flowKinds.deploy.sorted.length;

/**
 * Making a plan of 100 steps, with arguments checked, hashed, and with what it destroys among 24 disks: half of them the
 * agent's, overridden by 20 of templates and 10 of the request, the others drivers'. The median of many.
 */
export const planArea: Area = {
  name: 'plan',
  measure: ({ say }) => {
    const facts = manyFacts();
    const disks = manyDisks();
    const subject = { node: 'bench', kind: 'deploy' };
    const times: number[] = [];
    for (let index = 0; index < rounds; index += 1) {
      const startedAt = performance.now();
      const steps = planSteps(flowKinds.deploy, facts);
      const destroys = planDestroys(steps, { disks, node: { properties, instanceInfo: {}, targetRaidConfig: {} } });
      const hash = planHash(steps, subject, {
        digest: testSecrets.digest,
        destroyedSerials: destroys.disks.flatMap(({ disk }) => disk.serial ?? []),
      });
      times.push(performance.now() - startedAt);
      if (steps.length !== size || destroys.disks.length !== disks.length - 1 || hash.length !== 64) {
        return Promise.reject(new Error(`planned ${steps.length} steps that destroy ${destroys.disks.length} disks`));
      }
    }
    say(`${rounds} plans of ${size} steps, the slowest in ${round(Math.max(...times), 2)} ms`);
    return Promise.resolve({ ms_100_steps: { value: round(median(times), 2), unit: 'ms' } });
  },
};

const properties: JsonObject = { root_device: { size: '>= 100' }, skip_block_devices: [{ serial: 'disk-23' }] };

function manyFacts(): PlanFacts {
  const inBand = 47;
  const outOfBand = size - coreSteps - inBand - 1;
  const requested = (name: string, priority: number) => ({
    interface: 'deploy',
    step: name,
    priority,
    args: { note: 'x', level: 3 },
  });
  const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);
  return {
    advertised: [
      ...numbers(inBand).map((index) =>
        AdvertisedStep.parse({
          interface: 'deploy',
          step: `in_band_${index}`,
          priority: 41 + (index % 59),
          argsinfo: {
            note: { description: 'what to write down', required: true },
            level: { description: 'how much', required: false },
          },
        }),
      ),
      AdvertisedStep.parse({ interface: 'deploy', step: 'erase_devices_metadata', priority: 99 }),
    ],
    drivers: numbers(outOfBand).map((index) => ({
      interface: 'management',
      step: `out_of_band_${index}`,
      priority: 1 + ((index * 7) % 150),
      abortable: true,
      args: z.strictObject({ note: z.string(), level: z.number() }),
    })),
    templates: numbers(4).map((template) => ({
      name: `CUSTOM_${template}`,
      steps: numbers(5).map((index) => requested(`in_band_${template * 5 + index}`, 50 + index)),
    })),
    requested: numbers(10).map((index) => requested(`in_band_${10 + index}`, 60 + index)),
  };
}

function manyDisks() {
  const disks = Array.from({ length: 24 }, (_, index) => ({
    name: `/dev/sd${String.fromCodePoint(97 + index)}`,
    size: (index + 1) * 100 * 1024 ** 3,
    serial: `disk-${index}`,
    baton_contents: [],
  }));
  return (InventoryDocument.parse({ interfaces: [], disks }).disks ?? []).map(toKnownDisk);
}

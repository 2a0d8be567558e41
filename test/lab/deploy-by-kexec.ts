import type { FlowView } from '#conductor/api/flows.ts';
import { deployAndProve } from '#test/lab/deploy-and-prove.ts';
import { type DeployOutcomes, deployOnEach } from '#test/lab/deploy-on-each.ts';
import { type Lab, type LabNode, type LabNodeOptions, startLab } from '#test/lab/lab.ts';
import { type DeployOptions, readDemoImage } from '#test/lab/operator.ts';
import { say } from '#test/support/say.ts';

export interface KexecMachine extends LabNodeOptions {
  readonly name: string;
  readonly deploySteps?: DeployOptions['deploySteps'];
  /** Its power button does nothing. */
  readonly isDeaf?: boolean;
}

/** Deploys the demo image onto each by kexec. The lab is the caller's to close. */
export async function deployByKexec(
  machines: readonly KexecMachine[],
): Promise<{ lab: Lab; outcomes: DeployOutcomes }> {
  const image = { ...(await readDemoImage()), instanceInfo: { deploy_boot: 'kexec' } };
  const lab = await startLab({ nodes: machines, report: say });
  const outcomes = await deployOnEach(
    lab,
    (node, reporting) => {
      const { deploySteps = [], isDeaf = false } = machines.find(({ name }) => name === node.name) ?? {};
      if (isDeaf) unplugButton(node);
      return deployAndProve(lab, node, image, { ...reporting, deploySteps });
    },
    say,
  );
  return { lab, outcomes };
}

function unplugButton({ machine }: LabNode): void {
  const setPower = machine.setPower.bind(machine);
  const deaf: Pick<typeof machine, 'setPower'> = {
    setPower: (action) => (action === 'graceful' ? undefined : setPower(action)),
  };
  Object.assign(machine, deaf);
}

/** Lists what came of the steps that part with the ramdisk. */
export function kexecNotes({ steps }: FlowView): readonly string[] {
  return steps.flatMap(({ step, note }) => (note === null ? [] : [`${step}: ${note}`]));
}

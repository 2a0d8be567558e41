/**
 * Names that an operator may put into a list of steps whatever the machine offers (agent-protocol.md §5.3): the conductor
 * has them. The interface that goes with the name in the request does not matter, as in Ironic. Only `hold` makes sense
 * amid a deploy, whose power the core steps see to.
 */
const reservedSteps: Readonly<Record<string, { interface: 'deploy' | 'power'; inDeploy: boolean }>> = {
  hold: { interface: 'deploy', inDeploy: true },
  wait: { interface: 'deploy', inDeploy: false },
  power_on: { interface: 'power', inDeploy: false },
  power_off: { interface: 'power', inDeploy: false },
  reboot: { interface: 'power', inDeploy: false },
};

/** The interface under which the conductor keeps it, or `undefined` for a name that is not reserved there. */
export function reservedInterface(step: string, options: { readonly inDeploy: boolean }): string | undefined {
  const reserved = Object.hasOwn(reservedSteps, step) ? reservedSteps[step] : undefined;
  return reserved && (reserved.inDeploy || !options.inDeploy) ? reserved.interface : undefined;
}

/** `deploy.hold`, `power.reboot` … */
export const reservedStepNames: readonly string[] = Object.entries(reservedSteps).map(
  ([step, reserved]) => `${reserved.interface}.${step}`,
);

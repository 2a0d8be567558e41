import { bootProof } from '#conductor/agents/boot-proof.ts';
import type { BootMediumParams } from '#conductor/boot/boot-medium.ts';
import { ramdiskParams } from '#conductor/boot/ipxe-script.ts';
import { staticAddresses } from '#conductor/boot/static-addresses.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { openNodeDocument } from '#conductor/kernel/secrets/node-secrets.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import { attestationOf } from '#conductor/model/tpm/attestation-mode.ts';
import { bootsFromVirtualMedia } from '#conductor/nodes/node-interfaces.ts';

/** Composes what the node's ramdisk gets on its command line. */
export function ramdiskOf(
  secrets: Secrets,
  node: NodeRow,
): { readonly inspects: boolean; readonly kernelParams?: string } {
  const inspects = node.provisionState === 'inspecting' || node.provisionState === 'inspect wait';
  // the one text of driver_info that a machine is sent
  const text = node.driverInfo['kernel_append_params'];
  const own = openNodeDocument(secrets, { ...node, driverInfo: { kernel_append_params: text } }, 'driverInfo')[
    'kernel_append_params'
  ];
  return { inspects, ...(typeof own === 'string' ? { kernelParams: own } : {}) };
}

/**
 * Composes what the agent alone reads. Where machines have to prove themselves the token is given to their TPM alone, and a
 * virtual medium, whose path nobody can guess, has the boot's proof; over the network any stranger would get it as well.
 */
export function bootSecrets(
  config: Pick<EngineContext['config'], 'attestation'>,
  node: NodeRow,
  token: string,
): readonly string[] {
  if (attestationOf(config, node) !== 'require') return [`ipa-agent-token=${token}`];
  return bootsFromVirtualMedia(node) ? [`ipa-agent-token=${bootProof(token)}`] : [];
}

/**
 * Composes the kernel parameters of the node's boot medium, by the settings of now.
 * @param boot `mac`: of the card that it was loaded by, to be used where `network_data` names none
 */
export function bootMediumParamsOf(
  { config, secrets }: Pick<EngineContext, 'config' | 'secrets'>,
  node: NodeRow,
  boot: { readonly secrets: readonly string[]; readonly mac?: string },
): BootMediumParams {
  const addresses = staticAddresses(node.networkData);
  const parameters = ramdiskParams(
    {
      publicUrl: config.boot.url,
      agentApi: { url: config.publicUrl, isInsecure: config.boot.insecureAgents },
      defaultKernelParams: config.kernelParams,
      ...ramdiskOf(secrets, node),
    },
    boot.mac === undefined || addresses.length > 0 ? addresses : [`BOOTIF=${boot.mac}`],
  );
  return { parameters, secrets: boot.secrets };
}

import { type AgentClient, agentInstanceInfo, agentSettings } from '#conductor/agents/agent-client.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import { errorWithout } from '#conductor/kernel/secrets/mask-document.ts';
import { openNodeDocument } from '#conductor/kernel/secrets/node-secrets.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import { propertiesIn } from '#conductor/nodes/boot/os-disk.ts';
import type { Hide } from '#shared/secret-words.ts';
import type { CommandResult } from '#shared/wire/agent-calls.ts';

/**
 * Makes the `node` and `ports` parameters of the agent's commands, in the shape of Ironic's objects
 * (`spec/captures/deploy-conversation.json`). Other secrets are left out rather than masked.
 */
export function dumpNode(
  secrets: Secrets,
  node: NodeRow,
  about: { readonly hardwareManagerVersion: Record<string, string> | null; readonly kind?: FlowKindName },
): Record<string, unknown> {
  // files that the node's properties inject are only for the agent
  const properties = openNodeDocument(secrets, node, 'properties');
  return {
    uuid: node.uuid,
    name: node.name,
    instance_uuid: node.instanceUuid,
    driver: node.driver,
    driver_info: agentSettings(node.driverInfo),
    driver_internal_info: {
      agent_erase_devices_iterations: 1,
      agent_erase_devices_zeroize: true,
      agent_continue_if_secure_erase_failed: false,
      agent_continue_if_ata_erase_failed: false,
      agent_enable_nvme_secure_erase: true,
      agent_enable_ata_secure_erase: true,
      disk_erasure_concurrency: 4,
      // a card that is locked by hand must not keep a machine from ever being clean: the result reports it
      agent_erase_skip_read_only: true,
      hardware_manager_version: about.hardwareManagerVersion ?? {},
    },
    instance_info: agentInstanceInfo(node.instanceInfo),
    properties: propertiesIn(about.kind, { ...node, properties }),
    extra: node.extra,
    provision_state: node.provisionState,
    resource_class: node.resourceClass,
    target_raid_config: node.targetRaidConfig,
    raid_config: node.raidConfig,
  };
}

export function dumpPorts(ports: readonly PortRow[]): Record<string, unknown>[] {
  return ports.map((port) => ({
    uuid: port.uuid,
    address: port.address,
    pxe_enabled: port.pxeEnabled,
    local_link_connection: port.localLinkConnection,
    physical_network: port.physicalNetwork,
    vendor: port.vendor,
    category: port.category,
    extra: port.extra,
    internal_info: {},
  }));
}

/**
 * An agent that fails may repeat what it was sent, passwords among it: its words come without them. What its commands
 * answer is left as it is, since things are decided from it (`record-outcome.ts` hides what it stores).
 */
export function hideInAnswers(agent: AgentClient, hide: Hide): AgentClient {
  const withoutSecretsIn = async <T>(answer: Promise<T>): Promise<T> => {
    try {
      return await answer;
    } catch (error) {
      throw errorWithout(hide, error);
    }
  };
  return {
    post: async (command, options) => withoutSecrets(await withoutSecretsIn(agent.post(command, options)), hide),
    list: async () => (await withoutSecretsIn(agent.list())).map((result) => withoutSecrets(result, hide)),
  };
}

function withoutSecrets(result: CommandResult, hide: Hide): CommandResult {
  const error = result.command_error;
  if (!error) return result;
  const words = Object.fromEntries(
    Object.entries(error).map(([key, value]) => [key, typeof value === 'string' ? hide(value) : value]),
  );
  return { ...result, command_error: { ...error, ...words } };
}

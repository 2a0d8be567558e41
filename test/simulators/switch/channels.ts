import type { SectionCommand, TextConfig } from '#test/simulators/switch/text-config.ts';

/** Port-channels of a configuration of sections: what a switch refuses of their members, and passes on to them. */
export interface ChannelForm {
  /** `interface Port-Channel7` */
  readonly section: (number: string) => string;
  /** The command that makes a port a member, and captures the channel's number. */
  readonly join: SectionCommand;
  /** Settings that a port and its channel must have alike; members take over changes of these. */
  readonly shared: readonly string[];
}

export const channelGroup: SectionCommand = { form: /^channel-group (\d+) mode (active|on)$/, key: 'channel-group' };
export const switchportKeys = ['switchport mode', 'switchport access vlan', 'switchport trunk allowed vlan'];

/** Why the switch refuses the command. */
export function channelFault(
  config: TextConfig,
  section: string,
  command: string,
  { section: sectionOf, join, shared }: ChannelForm,
): string | undefined {
  const lines = config.get(section);
  const number = join.form.exec(command)?.[1];
  const isMember = lines?.has(join.key) ?? false;
  if (isMember && number === undefined && !command.startsWith(`no ${join.key}`)) return 'a member of a channel';
  if (number === undefined) return undefined;
  const channel = config.get(sectionOf(number));
  if (!channel) return 'no such channel';
  return shared.some((key) => channel.get(key) !== lines?.get(key)) ? 'not compatible with the channel' : undefined;
}

function membersOf(config: TextConfig, channel: string, { section, join }: ChannelForm): string[] {
  return [...config].flatMap(([name, lines]) => {
    const number = /\d+/.exec(lines.get(join.key) ?? '')?.[0];
    return number !== undefined && section(number) === channel ? [name] : [];
  });
}

/** After a change of the channel. */
export function passOn(config: TextConfig, channel: string, form: ChannelForm): void {
  for (const member of membersOf(config, channel, form)) {
    for (const key of form.shared) {
      const line = config.get(channel)?.get(key);
      if (line === undefined) config.get(member)?.delete(key);
      else config.get(member)?.set(key, line);
    }
  }
}

/** `no interface Port-Channel7`; a channel with members stays. */
export function removeChannel(config: TextConfig, section: string, form: ChannelForm): string | undefined {
  if (!config.has(section) || membersOf(config, section, form).length > 0) return 'has members, or is not there';
  config.delete(section);
  return undefined;
}

import {
  Bell,
  Box,
  Building2,
  Cog,
  DoorOpen,
  FileText,
  Gauge,
  Layers,
  Lightbulb,
  MapPin,
  Router,
  User,
  type LucideIcon,
} from "lucide-react";

/** The icons that `ModelIndex.icon` names. */
const ICONS: Readonly<Record<string, LucideIcon>> = {
  bell: Bell,
  box: Box,
  "building-2": Building2,
  cog: Cog,
  "door-open": DoorOpen,
  "file-text": FileText,
  gauge: Gauge,
  layers: Layers,
  lightbulb: Lightbulb,
  "map-pin": MapPin,
  router: Router,
  user: User,
};

/** Icons that can be chosen, by name. */
export const ICON_NAMES: readonly string[] = Object.keys(ICONS);

/** The icon of a model by its name. */
export function ModelIcon({ name, size = 14 }: { name: string; size?: number }) {
  const Icon = ICONS[name] ?? Box;
  return <Icon size={size} aria-hidden />;
}

/** All icons, not to be seen: `readIcons` takes from here what WebGL draws. */
export function IconSheet({ ref }: { ref: React.Ref<HTMLDivElement> }) {
  return (
    <div hidden ref={ref}>
      {Object.entries(ICONS).map(([name, Icon]) => (
        <Icon key={name} data-icon={name} size={64} color="#ffffff" />
      ))}
    </div>
  );
}

/** The icons of a sheet as data URLs, by name. */
export function readIcons(sheet: HTMLElement): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const svg of sheet.querySelectorAll<SVGElement>("svg[data-icon]")) {
    const text = new XMLSerializer().serializeToString(svg);
    found.set(
      svg.dataset["icon"] ?? "",
      `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`,
    );
  }
  return found;
}

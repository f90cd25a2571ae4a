import { CircleUser, Contrast, ListTree } from "lucide-react";
import {
  Button,
  Header,
  Link,
  Menu,
  MenuItem,
  MenuSection,
  MenuTrigger,
  Popover,
} from "react-aria-components";
import { useLocation } from "wouter";

import { MadeList } from "../inspector/MadeList";
import { GraphChooser } from "../session/GraphChooser";
import { LiveSign } from "../live/LiveSign";
import { useSession } from "../session/session";
import { routeOf } from "./addresses";
import { useIsNarrow } from "./media";
import { useLocationsOpen, usePreferences, type Theme } from "./preferences";
import { useSheet } from "./sheet";
import { viewsOf, type View } from "./views";

/** The navigation: which graph, which view, how it looks, who one is. */
export function Rail({ current }: { current: View }) {
  const session = useSession();
  return (
    <header className="rail">
      <GraphChooser />
      <nav className="rail-views" aria-label="Views">
        {viewsOf(session).map((view) => (
          <Link
            key={view.path}
            href={routeOf(session.graphId, view.path)}
            className="rail-item"
            {...(view.path === current.path ? { "aria-current": "page" as const } : {})}
          >
            <view.icon size={20} aria-hidden />
            <span className="rail-label">{view.name}</span>
          </Link>
        ))}
      </nav>
      <div className="rail-end">
        {session.may("query/read") && <LocationsButton view={current} />}
        <MadeList />
        <LiveSign />
        <ThemeMenu />
        {session.user !== null && <UserMenu />}
      </div>
    </header>
  );
}

/** Shows the tree of locations beside the view, or puts it away. */
function LocationsButton({ view }: { view: View }) {
  const { graphId } = useSession();
  const [, navigate] = useLocation();
  const narrow = useIsNarrow();
  const isOpen = useLocationsOpen() && view.inspected && !narrow;
  const toggle = (): void => {
    if (!view.inspected) navigate(routeOf(graphId, "query"));
    if (narrow) useSheet.setState({ locating: true });
    else usePreferences.getState().setLocationsOpen(!isOpen);
  };
  return (
    <Button className="rail-item" aria-expanded={isOpen} onPress={toggle}>
      <ListTree size={20} aria-hidden />
      <span className="rail-label">Locations</span>
    </Button>
  );
}

const THEMES: { id: Theme; name: string }[] = [
  { id: "system", name: "As the system" },
  { id: "light", name: "Light" },
  { id: "dark", name: "Dark" },
];

function ThemeMenu() {
  const { theme, setTheme } = usePreferences();
  return (
    <MenuTrigger>
      <Button className="rail-item" aria-label="Appearance">
        <Contrast size={20} aria-hidden />
      </Button>
      <Popover placement="right bottom">
        <Menu
          aria-label="Appearance"
          selectionMode="single"
          disallowEmptySelection
          selectedKeys={[theme]}
          onSelectionChange={(keys) => {
            const [first] = keys as Set<Theme>;
            if (first !== undefined) setTheme(first);
          }}
        >
          {THEMES.map(({ id, name }) => (
            <MenuItem key={id} id={id}>
              {name}
            </MenuItem>
          ))}
        </Menu>
      </Popover>
    </MenuTrigger>
  );
}

function UserMenu() {
  const { user, signOut } = useSession();
  return (
    <MenuTrigger>
      <Button className="rail-item" aria-label={`Signed in as ${user ?? ""}`}>
        <CircleUser size={20} aria-hidden />
      </Button>
      <Popover placement="right bottom">
        <Menu aria-label="User">
          <MenuSection>
            <Header className="menu-header">{user}</Header>
            <MenuItem onAction={signOut}>Sign out</MenuItem>
          </MenuSection>
        </Menu>
      </Popover>
    </MenuTrigger>
  );
}

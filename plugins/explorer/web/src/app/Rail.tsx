import { CircleUser, Contrast, Ellipsis, ListTree } from "lucide-react";
import { useState } from "react";
import {
  Button,
  Dialog,
  DialogTrigger,
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
import { VIEW_GROUPS, viewsOf, type View } from "./views";

/**
 * The navigation: which graph, which view, how it looks, who one is. At the side of a window; on a
 * phone a bar of what is used most, with the rest behind `More`.
 */
export function Rail({ current }: { current: View }) {
  const narrow = useIsNarrow();
  const session = useSession();
  const views = viewsOf(session);
  const locations = session.may("query/read") && <LocationsButton view={current} />;
  if (narrow) {
    return (
      <header className="rail">
        <nav className="rail-views" aria-label="Views">
          {views
            .filter((view) => view.inBar)
            .map((view) => (
              <ViewLink key={view.path} view={view} current={current} />
            ))}
          {locations}
          <More views={views.filter((view) => !view.inBar)} current={current} />
        </nav>
      </header>
    );
  }
  return (
    <header className="rail">
      <GraphChooser />
      <nav className="rail-views" aria-label="Views">
        <Groups views={views} current={current} />
      </nav>
      <div className="rail-end">
        {locations}
        <Personal />
      </div>
    </header>
  );
}

interface ViewsProps {
  views: readonly View[];
  current: View;
}

function Groups({ views, current }: ViewsProps) {
  return VIEW_GROUPS.map(({ id, name }) => {
    const members = views.filter((view) => view.group === id);
    if (members.length === 0) return null;
    return (
      <div key={id} className="rail-group" role="group" aria-label={name}>
        {members.map((view) => (
          <ViewLink key={view.path} view={view} current={current} />
        ))}
      </div>
    );
  });
}

function ViewLink({ view, current }: { view: View; current: View }) {
  const { graphId } = useSession();
  return (
    <Link
      href={routeOf(graphId, view.path)}
      className="rail-item"
      {...(view.path === current.path ? { "aria-current": "page" as const } : {})}
    >
      <view.icon size={20} aria-hidden />
      <span className="rail-label">{view.name}</span>
    </Link>
  );
}

/** What does not belong to a view: changes made here, whether it is live, colours, the user. */
function Personal() {
  const { user } = useSession();
  return (
    <>
      <MadeList />
      <LiveSign />
      <ThemeMenu />
      {user !== null && <UserMenu />}
    </>
  );
}

/** What a phone's bar has no room for. */
function More({ views, current }: ViewsProps) {
  const [isOpen, setOpen] = useState(false);
  const inside = views.find((view) => view.path === current.path);
  // A view that is chosen closes it, whichever way it was chosen.
  const [before, setBefore] = useState(current);
  if (before !== current) {
    setBefore(current);
    setOpen(false);
  }
  return (
    <DialogTrigger isOpen={isOpen} onOpenChange={setOpen}>
      <Button
        className="rail-item"
        {...(inside === undefined ? {} : { "aria-label": `More. Now: ${inside.name}` })}
        data-current={inside !== undefined || undefined}
      >
        <Ellipsis size={20} aria-hidden />
        <span className="rail-label">More</span>
      </Button>
      <Popover placement="top end" className="react-aria-Popover rail-more">
        <Dialog aria-label="More">
          <nav aria-label="More views">
            <Groups views={views} current={current} />
          </nav>
          <div className="rail-group rail-more-end">
            <GraphChooser />
            <Personal />
          </div>
        </Dialog>
      </Popover>
    </DialogTrigger>
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
    <Button className="rail-item rail-wide" aria-expanded={isOpen} onPress={toggle}>
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
